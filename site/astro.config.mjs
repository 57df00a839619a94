import starlight from "@astrojs/starlight"
import { defineConfig } from "astro/config"
import { sections } from "./contents.ts"
import { written } from "./pages.ts"

const found = new Set(written)

export default defineConfig({
  // The gateway serves it there. As a site of its own it needs the same path.
  base: "/docs/guide",
  outDir: "../guide",
  trailingSlash: "always",
  telemetry: false,
  integrations: [
    starlight({
      title: "Headgate",
      description: "A self-hosted LLM gateway: exact bills, honest streams, explained routing.",
      customCss: ["./guide.css"],
      favicon: "/mark.svg",
      credits: false,
      lastUpdated: false,
      disable404Route: true,
      sidebar: sections.map(({ label, pages }) => ({ label, items: pages.filter((page) => found.has(page)) })),
    }),
  ],
})
