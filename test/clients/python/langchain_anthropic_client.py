from langchain_anthropic import ChatAnthropic

from harness import KEY, MODEL, URL
from langchain_cases import run_langchain

run_langchain(lambda model=MODEL: ChatAnthropic(model=model, base_url=URL + "/api", api_key=KEY, max_retries=0, max_tokens=1000))
