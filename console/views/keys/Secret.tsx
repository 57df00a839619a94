/** A secret that is shown once: the page keeps it nowhere else. */
import { Copyable } from "../../components/values.tsx"

export const Secret = ({ secret }: { readonly secret: string }) => (
  <div class="secret" role="status">
    <p>
      <strong>Copy it now.</strong> It is shown this once and kept nowhere: the gateway has only its hash.
    </p>
    <Copyable text={secret} what="the key" />
  </div>
)
