import agents
import openai
from pydantic import BaseModel

from harness import *  # noqa: F403

agents.set_tracing_disabled(True)
client = openai.AsyncOpenAI(base_url=URL + "/api/v1", api_key=KEY, max_retries=0)


class Place(BaseModel):
    town: str


def models(name=MODEL):
    return [
        agents.OpenAIChatCompletionsModel(model=name, openai_client=client),
        agents.OpenAIResponsesModel(model=name, openai_client=client),
    ]


def agent(model, **more):
    settings = agents.ModelSettings(store=False)
    return agents.Agent(name="a", model=model, model_settings=settings, **more)


async def whole():
    for model in models():
        equal((await agents.Runner.run(agent(model), QUESTION)).final_output, ANSWER)


async def streamed():
    for model in models():
        result = agents.Runner.run_streamed(agent(model, tools=[agents.function_tool(weather)]), QUESTION)
        async for _ in result.stream_events():
            pass
        equal(result.final_output, ANSWER)


async def tools():
    for model in models():
        result = await agents.Runner.run(agent(model, tools=[agents.function_tool(weather)]), QUESTION)
        equal(result.final_output, ANSWER)


async def structured():
    for model in models():
        equal((await agents.Runner.run(agent(model, output_type=Place), QUESTION)).final_output.town, TOWN)


async def image():
    content = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": PIXEL_URL, "detail": "auto"}]
    for model in models():
        result = await agents.Runner.run(agent(model), [{"role": "user", "content": content}])
        equal(result.final_output, IMAGE_ANSWER)


async def error():
    for model in models(UNKNOWN):
        try:
            await agents.Runner.run(agent(model), QUESTION)
        except Exception as failure:
            contains(failure, "not a valid model")
            continue
        raise AssertionError("the call did not fail")


async def usage():
    for model in models():
        counts = (await agents.Runner.run(agent(model), QUESTION)).context_wrapper.usage
        equal((counts.input_tokens, counts.output_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))


run(whole=whole, streamed=streamed, tools=tools, structured=structured, image=image, error=error, usage=usage)
