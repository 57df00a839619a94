/** The endpoint of a configured host, without a gateway around it. */
import type { Endpoint } from "../../../src/catalogue/endpoints.ts"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { hostsConfig, servicesOf } from "../clocks/services.ts"

/** Of the provider `a`. The file calls `closeServices`. */
export const oneEndpoint = async (): Promise<Endpoint> => {
  const services = await servicesOf(ProviderRegistry.layer(await hostsConfig({ a: {} })))
  const registry = services.get(ProviderRegistry)
  const [host] = registry.current().models[0]?.hosts ?? []
  const endpoint = host && registry.endpoint(host)
  if (endpoint === undefined) throw new Error("no host")
  return endpoint
}
