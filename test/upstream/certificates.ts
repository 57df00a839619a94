/** A certificate authority for one test run, and certificates of every kind. */
import { generateKeyPairSync } from "node:crypto"
import forge from "node-forge"

export interface Identity {
  readonly key: string
  readonly cert: string
}

interface Wanted {
  readonly name: string
  /** Days from now: the first and the last one of validity. */
  readonly valid?: readonly [number, number]
  readonly selfSigned?: boolean
}

const dayMs = 86_400_000

const keyPair = () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 })
  const pem = privateKey.export({ type: "pkcs1", format: "pem" }).toString()
  const key = forge.pki.privateKeyFromPem(pem)
  return { pem, key, publicKey: forge.pki.setRsaPublicKey(key.n, key.e) }
}

let authorities = 0

export const makeAuthority = () => {
  const authority = keyPair()
  let serial = 1
  const issuer = [{ name: "commonName", value: `Test authority ${++authorities}` }]
  const issue = (
    subject: ReadonlyArray<forge.pki.CertificateField>,
    extensions: Array<object>,
    [from, to]: readonly [number, number],
    pair: ReturnType<typeof keyPair>,
    signedBy: ReturnType<typeof keyPair>,
  ): string => {
    const certificate = forge.pki.createCertificate()
    certificate.publicKey = pair.publicKey
    certificate.serialNumber = (++serial).toString(16).padStart(4, "0")
    certificate.validity.notBefore = new Date(Date.now() + from * dayMs)
    certificate.validity.notAfter = new Date(Date.now() + to * dayMs)
    certificate.setSubject([...subject])
    certificate.setIssuer(signedBy === pair ? [...subject] : issuer)
    certificate.setExtensions(extensions)
    certificate.sign(signedBy.key, forge.md.sha256.create())
    return forge.pki.certificateToPem(certificate)
  }
  const ca = issue(issuer, [{ name: "basicConstraints", cA: true, critical: true }], [-1, 30], authority, authority)
  return {
    ca,
    /** A certificate for a host name or an address. */
    identity: ({ name, valid = [-1, 30], selfSigned = false }: Wanted): Identity => {
      const pair = keyPair()
      const isAddress = /^[\d.]+$/.test(name)
      const altNames = [isAddress ? { type: 7, ip: name } : { type: 2, value: name }]
      const subject = [{ name: "commonName", value: name }]
      const cert = issue(subject, [{ name: "subjectAltName", altNames }], valid, pair, selfSigned ? pair : authority)
      return { key: pair.pem, cert }
    },
  }
}
