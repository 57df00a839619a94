/** A certificate for 127.0.0.1, signed by a certificate authority made for this run. Needs `openssl`. */
import { join } from "node:path"
import { runToEnd } from "./processes.ts"

export interface Certificate {
  readonly cert: string
  readonly key: string
  /** What callers must trust. */
  readonly authority: string
}

export const canMakeCertificates = Bun.which("openssl") !== null

const sections = `
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[host]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = IP:127.0.0.1
`

/** Writes the files into `folder`. */
export const makeCertificate = async (folder: string): Promise<Certificate> => {
  const path = (name: string) => join(folder, name)
  await Bun.write(path("openssl.cnf"), sections)
  const make = (name: string, subject: string, extra: ReadonlyArray<string>) => {
    const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    const files = ["-config", path("openssl.cnf"), "-keyout", path(`${name}.key`), "-out", path(`${name}.pem`)]
    const command = ["openssl", "req", "-x509", ...kind, ...files, "-subj", `/CN=${subject}`, "-extensions", name]
    return runToEnd([...command, ...extra], folder, 30)
  }
  await make("authority", "Headgate bench authority", [])
  await make("host", "127.0.0.1", ["-CA", path("authority.pem"), "-CAkey", path("authority.key")])
  return { cert: path("host.pem"), key: path("host.key"), authority: path("authority.pem") }
}
