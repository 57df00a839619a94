import { Page } from "../../components/layout.tsx"

const Overview = () => <Page title="Overview">…</Page>

export default Overview
