import openai

from harness import *  # noqa: F403

client = openai.OpenAI(base_url=URL + "/api/v1", api_key=KEY, max_retries=0)
tool = {"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}
ask = [{"role": "user", "content": QUESTION}]


def whole():
    equal(client.chat.completions.create(model=MODEL, messages=ask).choices[0].message.content, ANSWER)
    equal(client.responses.create(model=MODEL, input=QUESTION, store=False).output_text, ANSWER)


def streamed():
    parts = client.chat.completions.create(model=MODEL, messages=ask, stream=True)
    equal("".join(c.choices[0].delta.content or "" for c in parts if c.choices), ANSWER)
    with client.responses.stream(model=MODEL, input=QUESTION, store=False) as events:
        text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
    equal(text, ANSWER)


def tools():
    messages = list(ask)
    for step in range(3):
        said = client.chat.completions.create(model=MODEL, messages=messages, tools=[tool]).choices[0].message
        messages.append(said)
        if not said.tool_calls:
            break
        for call in said.tool_calls:
            arguments = json.loads(call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": weather(**arguments)})
    equal((step, said.content), (1, ANSWER))
    given = [{"role": "user", "content": QUESTION}]
    flat = {"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": True}
    for step in range(3):
        response = client.responses.create(model=MODEL, input=given, tools=[flat], store=False)
        given += response.output
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            break
        for call in calls:
            output = weather(**json.loads(call.arguments))
            given.append({"type": "function_call_output", "call_id": call.call_id, "output": output})
    equal((step, response.output_text), (1, ANSWER))


def structured():
    from pydantic import BaseModel

    class Place(BaseModel):
        town: str

    parsed = client.chat.completions.parse(model=MODEL, messages=ask, response_format=Place)
    equal(parsed.choices[0].message.parsed.town, TOWN)
    equal(client.responses.parse(model=MODEL, input=QUESTION, text_format=Place, store=False).output_parsed.town, TOWN)


def image():
    part = {"type": "image_url", "image_url": {"url": PIXEL_URL}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, part]}]
    equal(client.chat.completions.create(model=MODEL, messages=messages).choices[0].message.content, IMAGE_ANSWER)


def error():
    refused(lambda: client.chat.completions.create(model=UNKNOWN, messages=ask))
    refused(lambda: client.responses.create(model=UNKNOWN, input=QUESTION))


def usage():
    counts = client.chat.completions.create(model=MODEL, messages=ask).usage
    equal((counts.prompt_tokens, counts.completion_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))
    last = [
        c.usage
        for c in client.chat.completions.create(
            model=MODEL, messages=ask, stream=True, stream_options={"include_usage": True}
        )
        if c.usage
    ][-1]
    equal((last.prompt_tokens, last.completion_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))
    counts = client.responses.create(model=MODEL, input=QUESTION, store=False).usage
    equal((counts.input_tokens, counts.output_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))


run(whole=whole, streamed=streamed, tools=tools, structured=structured, image=image, error=error, usage=usage)
