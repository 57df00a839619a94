/** The descriptions of all forms. */
import { forms } from "../data/forms.ts"
import type { DescribedForm } from "./schema.ts"

export const describedForms: ReadonlyArray<DescribedForm> = Object.values(forms).map(({ described }) => described)
