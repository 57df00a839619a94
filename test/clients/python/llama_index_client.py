from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage, ImageBlock, TextBlock
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike

from harness import *  # noqa: F403


def llm(model=MODEL):
    return OpenAILike(
        model=model,
        api_base=URL + "/api/v1",
        api_key=KEY,
        is_chat_model=True,
        is_function_calling_model=True,
        should_use_structured_outputs=True,
        max_retries=0,
    )


def whole():
    equal(llm().chat([ChatMessage(role="user", content=QUESTION)]).message.content, ANSWER)


def streamed():
    parts = llm().stream_chat([ChatMessage(role="user", content=QUESTION)])
    equal("".join(part.delta or "" for part in parts), ANSWER)


async def tools():
    agent = FunctionAgent(tools=[FunctionTool.from_defaults(weather)], llm=llm())
    equal(str(await agent.run(QUESTION)), ANSWER)


def structured():
    from pydantic import BaseModel

    class Place(BaseModel):
        town: str

    said = llm().as_structured_llm(Place).chat([ChatMessage(role="user", content=QUESTION)])
    equal(said.raw.town, TOWN)


def image():
    import base64

    blocks = [TextBlock(text="What is it?"), ImageBlock(image=base64.b64decode(PIXEL), image_mimetype="image/png")]
    equal(llm().chat([ChatMessage(role="user", blocks=blocks)]).message.content, IMAGE_ANSWER)


def error():
    refused(lambda: llm(UNKNOWN).chat([ChatMessage(role="user", content=QUESTION)]))


def usage():
    counts = llm().chat([ChatMessage(role="user", content=QUESTION)]).raw.usage
    equal((counts.prompt_tokens, counts.completion_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))


run(whole=whole, streamed=streamed, tools=tools, structured=structured, image=image, error=error, usage=usage)
