import anthropic

from harness import *  # noqa: F403

client = anthropic.Anthropic(base_url=URL + "/api", api_key=KEY, max_retries=0)
tool = {"name": "weather", "description": "The weather of a town.", "input_schema": PARAMETERS}
common = {"model": MODEL, "max_tokens": 1000}
ask = [{"role": "user", "content": QUESTION}]


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def whole():
    equal(text_of(client.messages.create(messages=ask, **common)), ANSWER)


def streamed():
    with client.messages.stream(messages=ask, **common) as stream:
        equal("".join(stream.text_stream), ANSWER)
        equal(stream.get_final_message().stop_reason, "end_turn")


def tools():
    for stream in (False, True):
        messages = list(ask)
        for step in range(3):
            if stream:
                with client.messages.stream(messages=messages, tools=[tool], **common) as events:
                    said = events.get_final_message()
            else:
                said = client.messages.create(messages=messages, tools=[tool], **common)
            messages.append({"role": "assistant", "content": said.content})
            if said.stop_reason != "tool_use":
                break
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": weather(**block.input)}
                for block in said.content
                if block.type == "tool_use"
            ]
            messages.append({"role": "user", "content": results})
        equal((step, text_of(said)), (1, ANSWER))


def structured():
    from pydantic import BaseModel

    class Place(BaseModel):
        town: str

    equal(client.messages.parse(messages=ask, output_format=Place, **common).parsed_output.town, TOWN)


def image():
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "What is it?"}]
    equal(text_of(client.messages.create(messages=[{"role": "user", "content": content}], **common)), IMAGE_ANSWER)


def error():
    refused(lambda: client.messages.create(model=UNKNOWN, max_tokens=10, messages=ask))


def usage():
    counts = client.messages.create(messages=ask, **common).usage
    equal((counts.input_tokens, counts.output_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))
    with client.messages.stream(messages=ask, **common) as stream:
        counts = stream.get_final_message().usage
    equal((counts.input_tokens, counts.output_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))
    assert client.messages.count_tokens(model=MODEL, messages=ask).input_tokens > 0


run(whole=whole, streamed=streamed, tools=tools, structured=structured, image=image, error=error, usage=usage)
