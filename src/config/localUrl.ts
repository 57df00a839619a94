/** Where a gateway of this machine that listens there can be called: `http://127.0.0.1:8787`. */
export const localUrl = ({ hostname, port }: { readonly hostname: string; readonly port: number }): string => {
  const host = hostname === "0.0.0.0" || hostname === "::" ? "127.0.0.1" : hostname
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`
}
