/** How TLS connections to hosts are made: verified, TLS 1.2 or later, HTTP/1.1 only. */
import { readFileSync } from "node:fs"
import { getCACertificates } from "node:tls"
import { withoutBrackets } from "../../domain/hosts/networkReach.ts"

/** `minVersion` is understood by the runtime and missing from its types. */
export interface ClientTls extends Bun.TLSOptions {
  readonly minVersion: number
}

/**
 * `ca`: PEM certificates to trust beside the usual ones. Without it the runtime's defaults hold, which include
 * NODE_EXTRA_CA_CERTS and SSL_CERT_FILE; with it they have to be listed.
 */
export const makeTlsOptions = (ca: string | undefined): ((hostname: string) => ClientTls) => {
  const trusted = ca === undefined ? undefined : [...defaultCertificates(), ca].join("\n")
  return (hostname) => ({
    serverName: withoutBrackets(hostname).replace(/\.$/, ""),
    rejectUnauthorized: true,
    minVersion: 0x0303,
    // One name, preceded by its length, as the extension has it on the wire.
    ALPNProtocols: "\x08http/1.1",
    ...(trusted === undefined ? {} : { ca: trusted }),
  })
}

const defaultCertificates = (): ReadonlyArray<string> => {
  const file = process.env["SSL_CERT_FILE"]
  return [...getCACertificates("default"), ...(file === undefined || file === "" ? [] : [readFileSync(file, "utf8")])]
}

/** A failed handshake in words for the operator. */
export const explainHandshake = (error: Error | null): Error => {
  if (error === null) return new Error("the TLS handshake failed")
  if (error.message.includes("NO_APPLICATION_PROTOCOL"))
    return new Error("the host does not speak HTTP/1.1, only HTTP/2 or another protocol (ALPN)", { cause: error })
  if (error.message.includes("PROTOCOL_VERSION"))
    return new Error("the host speaks no TLS version from 1.2 on", { cause: error })
  return error
}
