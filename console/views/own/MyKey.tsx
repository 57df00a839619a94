import { Page } from "../../components/layout.tsx"

const MyKey = () => <Page title="MyKey">…</Page>

export default MyKey
