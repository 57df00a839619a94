/** LM Studio's server. Facts: not read again, unverified. It needs no key. Untested against recorded traffic. */
import { chatHost } from "headgate/plugin"

export default chatHost({
  id: "lmstudio",
  name: "LM Studio",
  baseUrl: "http://127.0.0.1:1234/v1",
  network: "private",
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: { efforts: () => ["low", "medium", "high"] },
  embeddings: {},
})
