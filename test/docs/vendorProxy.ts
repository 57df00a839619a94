/** An HTTPS proxy behind which one vendor is played on this machine. It lets no other call through. */
import { connect, createServer, type Socket } from "node:net"
import { makeAuthority } from "../upstream/certificates.ts"

export interface VendorProxy {
  readonly url: string
  /** The certificate of the authority that vouches for the vendor. */
  readonly ca: string
  readonly stop: () => void
}

export const vendorProxy = async (
  hostname: string,
  answer: (request: Request) => Response | Promise<Response>,
): Promise<VendorProxy> => {
  const authority = makeAuthority()
  const vendor = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    tls: authority.identity({ name: hostname }),
    fetch: answer,
  })
  const sockets = new Set<Socket>()
  const proxy = createServer((caller) => {
    sockets.add(caller)
    caller.on("error", () => caller.destroy())
    caller.once("data", (head) => {
      if (!head.toString().startsWith(`CONNECT ${hostname}:443 `)) {
        caller.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
        return
      }
      const host = connect(vendor.port ?? 0, "127.0.0.1", () => {
        caller.write("HTTP/1.1 200 OK\r\n\r\n")
        caller.pipe(host).pipe(caller)
      })
      sockets.add(host)
      host.on("error", () => caller.destroy())
    })
  })
  const port = await new Promise<number>((resolve) => {
    proxy.listen(0, "127.0.0.1", () => {
      const address = proxy.address()
      resolve(typeof address === "object" && address !== null ? address.port : 0)
    })
  })
  return {
    url: `http://127.0.0.1:${port}`,
    ca: authority.ca,
    stop: () => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      void vendor.stop(true)
    },
  }
}
