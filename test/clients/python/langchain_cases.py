"""The cases that all chat models of LangChain share."""

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from harness import *  # noqa: F403


@tool
def weather_tool(town: str) -> str:
    """The weather of a town."""
    return weather(town)


weather_tool.name = "weather"


def text_of(message):
    content = message.content
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content if isinstance(part, dict))


def run_langchain(chat):
    """`chat`: makes a chat model for the model with this name, by default the usual one."""

    def whole():
        equal(text_of(chat().invoke(QUESTION)), ANSWER)

    def streamed():
        equal("".join(text_of(part) for part in chat().stream(QUESTION)), ANSWER)

    def tools():
        model = chat().bind_tools([weather_tool])
        messages = [HumanMessage(QUESTION)]
        for step in range(3):
            said = None
            for part in model.stream(messages):
                said = part if said is None else said + part
            messages.append(said)
            if not said.tool_calls:
                break
            for call in said.tool_calls:
                messages.append(weather_tool.invoke(call))
        equal((step, text_of(said)), (1, ANSWER))

    def structured():
        from pydantic import BaseModel

        class Place(BaseModel):
            town: str

        equal(chat().with_structured_output(Place, method="json_schema").invoke(QUESTION).town, TOWN)

    def image():
        part = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
        message = HumanMessage(content=[{"type": "text", "text": "What is it?"}, part])
        equal(text_of(chat().invoke([message])), IMAGE_ANSWER)

    def error():
        refused(lambda: chat(UNKNOWN).invoke(QUESTION))

    def usage():
        counts = chat().invoke(QUESTION).usage_metadata
        equal((counts["input_tokens"], counts["output_tokens"]), (PROMPT_TOKENS, COMPLETION_TOKENS))
        said = None
        for part in chat().stream(QUESTION):
            said = part if said is None else said + part
        equal((said.usage_metadata["input_tokens"], said.usage_metadata["output_tokens"]), (PROMPT_TOKENS, COMPLETION_TOKENS))

    run(whole=whole, streamed=streamed, tools=tools, structured=structured, image=image, error=error, usage=usage)
