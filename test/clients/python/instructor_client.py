import instructor
import openai
from pydantic import BaseModel, ConfigDict

from harness import *  # noqa: F403

plain = openai.OpenAI(base_url=URL + "/api/v1", api_key=KEY, max_retries=0)
ask = [{"role": "user", "content": QUESTION}]


class Place(BaseModel):
    town: str


class weather_of(BaseModel):  # noqa: N801
    """The tool has the name of the class, and the host calls `weather`."""

    model_config = ConfigDict(title="weather")
    town: str


def place(mode, model=MODEL, kind=Place, **more):
    client = instructor.from_openai(plain, mode=mode)
    return client.chat.completions.create(model=model, messages=list(ask), response_model=kind, max_retries=0, **more)


def whole():
    equal(place(instructor.Mode.JSON_SCHEMA).town, TOWN)


def streamed():
    client = instructor.from_openai(plain, mode=instructor.Mode.JSON_SCHEMA)
    parts = list(client.chat.completions.create_partial(model=MODEL, messages=list(ask), response_model=Place))
    equal(parts[-1].town, TOWN)


def tools():
    equal(place(instructor.Mode.TOOLS, kind=weather_of).town, TOWN)


def structured():
    equal(place(instructor.Mode.JSON).town, TOWN)


def error():
    refused(lambda: place(instructor.Mode.JSON_SCHEMA, UNKNOWN))


def usage():
    client = instructor.from_openai(plain, mode=instructor.Mode.JSON_SCHEMA)
    _, answer = client.chat.completions.create_with_completion(model=MODEL, messages=list(ask), response_model=Place)
    equal((answer.usage.prompt_tokens, answer.usage.completion_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))


run(whole=whole, streamed=streamed, tools=tools, structured=structured, error=error, usage=usage)
