from langchain_google_genai import ChatGoogleGenerativeAI

from harness import KEY, MODEL, URL
from langchain_cases import run_langchain

run_langchain(lambda model=MODEL: ChatGoogleGenerativeAI(model=model, base_url=URL + "/api", api_key=KEY, max_retries=1))
