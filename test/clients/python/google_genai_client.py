from google import genai
from google.genai import types

from harness import *  # noqa: F403

client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=URL + "/api"))


def whole():
    equal(client.models.generate_content(model=MODEL, contents=QUESTION).text, ANSWER)


def streamed():
    parts = client.models.generate_content_stream(model=MODEL, contents=QUESTION)
    equal("".join(part.text or "" for part in parts), ANSWER)


def tools():
    config = types.GenerateContentConfig(tools=[weather])
    equal(client.models.generate_content(model=MODEL, contents=QUESTION, config=config).text, ANSWER)


def structured():
    from pydantic import BaseModel

    class Place(BaseModel):
        town: str

    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=Place)
    equal(client.models.generate_content(model=MODEL, contents=QUESTION, config=config).parsed.town, TOWN)


def image():
    import base64

    part = types.Part.from_bytes(data=base64.b64decode(PIXEL), mime_type="image/png")
    equal(client.models.generate_content(model=MODEL, contents=[part, "What is it?"]).text, IMAGE_ANSWER)


def error():
    refused(lambda: client.models.generate_content(model=UNKNOWN, contents=QUESTION))


def usage():
    counts = client.models.generate_content(model=MODEL, contents=QUESTION).usage_metadata
    equal((counts.prompt_token_count, counts.candidates_token_count), (PROMPT_TOKENS, COMPLETION_TOKENS))
    assert client.models.count_tokens(model=MODEL, contents=QUESTION).total_tokens > 0


run(whole=whole, streamed=streamed, tools=tools, structured=structured, image=image, error=error, usage=usage)
