#!/usr/bin/env python3
"""formats.py gradescope|classroom RESULT.json: a result of make grade, as Gradescope or GitHub Classroom reads
it, on stdout. Classroom's is base64, for the step output that is named `result` there.
"""

import base64
import json

import labs


def gradescope(result):
    """What belongs into results.json."""
    tests = [
        {
            "score": check["points"],
            "max_score": check["possible"],
            "status": "passed" if check["passed"] else "failed",
            "name": check["name"],
            "number": str(number),
            "output": "\n".join(text for text in (check["text"], check["advice"]) if text),
            "tags": [result["lab"]],
            "visibility": "visible",
        }
        for number, check in enumerate(result["checks"], 1)
    ]
    return {
        "score": result["points"],
        "execution_time": round(result["seconds"]),
        "output": result["remark"] or "All points that can be had here.",
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"lab": result["lab"], "fingerprint": result["fingerprint"]},
        "tests": tests,
        "leaderboard": [],
    }


def classroom(result):
    """What belongs into the step output `result`, before it becomes base64."""
    tests = [
        {
            "name": check["name"],
            "status": "pass" if check["passed"] else "fail",
            "score": check["points"],
            "message": "\n".join(text for text in (check["text"], check["advice"]) if text),
            "test_code": f"make check{result['lab']}",
            "filename": result["file"],
            "line_no": 0,
            "duration": round(1000 * result["seconds"]) if number == 0 else 0,
        }
        for number, check in enumerate(result["checks"])
    ]
    whole = "error" if result["status"] != "graded" else "pass" if result["points"] == result["possible"] else "fail"
    return {"version": 1, "status": whole, "max_score": result["possible"], "tests": tests}


def in_base64(value):
    return base64.b64encode(json.dumps(value).encode()).decode()


def main(arguments):
    parser = labs.Parser(description="A result of make grade in the format of another system.")
    parser.add_argument("format", choices=("gradescope", "classroom"))
    parser.add_argument("result")
    given = parser.parse_args(arguments)
    try:
        with open(given.result, encoding="utf-8") as file:
            result = json.load(file)
    except (OSError, ValueError) as error:
        raise labs.Refusal(f"{given.result}: {error}") from None
    print(json.dumps(gradescope(result), indent=1) if given.format == "gradescope" else in_base64(classroom(result)))
    return 0


if __name__ == "__main__":
    labs.run(main)
