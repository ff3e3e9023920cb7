#include "wire.h"

#include <errno.h>
#include <unistd.h>

bool send_bytes(int socket, const void *bytes, size_t count)
{
    const unsigned char *next = bytes;
    ssize_t sent;

    while (count > 0) {
        sent = write(socket, next, count);
        if (sent <= 0 && errno != EINTR)
            return false;
        next += sent > 0 ? sent : 0;
        count -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

bool receive_bytes(int socket, void *bytes, size_t count)
{
    unsigned char *next = bytes;
    ssize_t received;

    while (count > 0) {
        received = read(socket, next, count);
        if (received == 0 || (received < 0 && errno != EINTR))
            return false;
        next += received > 0 ? received : 0;
        count -= received > 0 ? (size_t)received : 0;
    }
    return true;
}
