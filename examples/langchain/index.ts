/** LangChain against a gateway: a prompt, a model and a parser, one after another. */
import { StringOutputParser } from "@langchain/core/output_parsers"
import { ChatPromptTemplate } from "@langchain/core/prompts"
import { ChatOpenAI } from "@langchain/openai"

const model = new ChatOpenAI({
  model: "headgate/echo",
  apiKey: process.env["HEADGATE_API_KEY"] ?? "",
  configuration: { baseURL: process.env["HEADGATE_URL"] ?? "http://127.0.0.1:8787/api/v1" },
})

const greeting = ChatPromptTemplate.fromTemplate("Hello, {name}!").pipe(model).pipe(new StringOutputParser())

console.log(await greeting.invoke({ name: "gateway" }))
