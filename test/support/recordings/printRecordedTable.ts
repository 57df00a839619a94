/** Preloaded by bunfig.toml: prints the table of recorded cases when the last test of a run has ended. */
import { printTableAtEnd } from "./recordedTable.ts"

printTableAtEnd()
