/** Names of hosts in addresses. A caller may name one, so each look at it takes time in proportion to its length. */

/** No name has more characters: 253, and a dot. RFC 1035, section 2.3.4. */
export const longestName = 254

/** The name without the dots at its end. */
export const withoutEndDots = (hostname: string): string => {
  let end = hostname.length
  while (hostname.charCodeAt(end - 1) === 0x2e) end--
  return hostname.slice(0, end)
}
