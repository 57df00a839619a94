/** `Gateway` of the package: what an app is built with. */
export {
  drained,
  type GatewayOptions,
  type Routing,
  routes,
  routesAt,
  routing,
  type Services,
  type Serving,
  Settings,
  type State,
  type Surroundings,
  services,
  serving,
  state,
} from "./Gateway.ts"
export { type Caller, type Handler, type HandlerOptions, handler } from "./handler.ts"
