/** The forms that callers speak. */

import type { ClientForm } from "./ClientForm.ts"
import { chatClient, completionsClient } from "./choicesClients.ts"
import { messagesClient } from "./messagesClient.ts"
import { responsesClient } from "./responsesClient.ts"

export const clientForms: ReadonlyArray<ClientForm> = [chatClient, completionsClient, messagesClient, responsesClient]
