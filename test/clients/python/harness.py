"""Runs the cases of one client and prints a line of JSON for each: the case, whether it passed, and what was seen."""

import asyncio
import inspect
import json
import os
import traceback

URL = os.environ["GATEWAY_URL"]
"""The gateway's address, such as http://127.0.0.1:8787."""
KEY = os.environ["GATEWAY_KEY"]
MODEL = "acme/small"
UNKNOWN = "acme/none"
TOWN = "Bern"
ANSWER = "Sunny in Bern"
IMAGE_ANSWER = "An image"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PIXEL_URL = "data:image/png;base64," + PIXEL
QUESTION = "How is the weather in Bern?"
PROMPT_TOKENS = 10
COMPLETION_TOKENS = 5
PARAMETERS = {
    "type": "object",
    "properties": {"town": {"type": "string"}},
    "required": ["town"],
    "additionalProperties": False,
}


def weather(town: str) -> str:
    """The weather of a town."""
    assert town == TOWN, town
    return "sunny"


def equal(seen, wanted):
    assert seen == wanted, f"{seen!r} is not {wanted!r}"


def contains(seen, wanted):
    assert wanted in str(seen), f"{seen!r} has no {wanted!r}"


def refused(ask, word="not a valid model"):
    """The call must fail, with the gateway's sentence in the error."""
    try:
        ask()
    except Exception as failure:  # noqa: BLE001
        contains(failure, word)
        return
    raise AssertionError("the call did not fail")


def run(**cases):
    # One loop for all cases, since clients keep connections of it.
    loop = asyncio.new_event_loop()
    for name, case in cases.items():
        try:
            done = case()
            if inspect.isawaitable(done):
                loop.run_until_complete(done)
            print(json.dumps({"case": name, "passed": True}), flush=True)
        except Exception as failure:  # noqa: BLE001
            where = traceback.format_exc().strip().splitlines()[-3:]
            print(json.dumps({"case": name, "passed": False, "why": f"{failure!r} {where}"[:900]}), flush=True)
