from langchain_openai import ChatOpenAI

from harness import KEY, MODEL, URL
from langchain_cases import run_langchain

run_langchain(lambda model=MODEL: ChatOpenAI(model=model, base_url=URL + "/api/v1", api_key=KEY, max_retries=0, stream_usage=True))
