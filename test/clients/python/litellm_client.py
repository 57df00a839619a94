import litellm

from harness import *  # noqa: F403

litellm.suppress_debug_info = True
ways = [
    {"model": "openai/" + MODEL, "api_base": URL + "/api/v1"},
    {"model": "openrouter/" + MODEL, "api_base": URL + "/api/v1"},
    {"model": "anthropic/" + MODEL, "api_base": URL + "/api", "max_tokens": 1000},
]
ask = [{"role": "user", "content": QUESTION}]
tool = {"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}


def complete(way, messages=ask, **more):
    return litellm.completion(messages=messages, api_key=KEY, num_retries=0, **way, **more)


def whole():
    for way in ways:
        equal(complete(way).choices[0].message.content, ANSWER)


def streamed():
    for way in ways:
        parts = complete(way, stream=True)
        equal("".join(part.choices[0].delta.content or "" for part in parts if part.choices), ANSWER)


def tools():
    for way in ways:
        messages = list(ask)
        for step in range(3):
            said = complete(way, messages, tools=[tool]).choices[0].message
            messages.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                break
            for call in said.tool_calls:
                output = weather(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": output})
        equal((step, said.content), (1, ANSWER))


def structured():
    schema = {"type": "json_schema", "json_schema": {"name": "place", "schema": PARAMETERS, "strict": True}}
    said = complete(ways[0], response_format=schema).choices[0].message.content
    equal(json.loads(said)["town"], TOWN)


def image():
    part = {"type": "image_url", "image_url": {"url": PIXEL_URL}}
    for way in ways:
        said = complete(way, [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, part]}])
        equal(said.choices[0].message.content, IMAGE_ANSWER)


def error():
    for way in ways:
        provider = way["model"].split("/")[0]
        refused(lambda: complete({**way, "model": provider + "/" + UNKNOWN}))


def usage():
    for way in ways:
        counts = complete(way).usage
        equal((counts.prompt_tokens, counts.completion_tokens), (PROMPT_TOKENS, COMPLETION_TOKENS))


run(whole=whole, streamed=streamed, tools=tools, structured=structured, image=image, error=error, usage=usage)
