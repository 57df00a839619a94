from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.output import NativeOutput
from pydantic_ai.providers.openai import OpenAIProvider

from harness import *  # noqa: F403

provider = OpenAIProvider(base_url=URL + "/api/v1", api_key=KEY)


class Place(BaseModel):
    town: str


def models(name=MODEL):
    return [OpenAIChatModel(name, provider=provider), OpenAIResponsesModel(name, provider=provider)]


async def whole():
    for model in models():
        equal((await Agent(model).run(QUESTION)).output, ANSWER)


async def streamed():
    for model in models():
        async with Agent(model).run_stream(QUESTION) as result:
            equal("".join([part async for part in result.stream_text(delta=True)]), ANSWER)


async def tools():
    for model in models():
        result = await Agent(model, tools=[weather]).run(QUESTION)
        equal((result.output, len(result.all_messages())), (ANSWER, 4))


async def structured():
    for model in models():
        equal((await Agent(model, output_type=NativeOutput(Place)).run(QUESTION)).output.town, TOWN)


async def image():
    import base64

    picture = BinaryContent(data=base64.b64decode(PIXEL), media_type="image/png")
    for model in models():
        equal((await Agent(model).run(["What is it?", picture])).output, IMAGE_ANSWER)


async def error():
    for model in models(UNKNOWN):
        try:
            await Agent(model).run(QUESTION)
        except Exception as failure:
            contains(failure, "not a valid model")
            continue
        raise AssertionError("the call did not fail")


async def usage():
    for model in models():
        counts = (await Agent(model).run(QUESTION)).usage
        counts = counts() if callable(counts) else counts
        equal((counts.input_tokens, counts.output_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))


run(whole=whole, streamed=streamed, tools=tools, structured=structured, image=image, error=error, usage=usage)
