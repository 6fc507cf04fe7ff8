import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** Schemes that client-go accepts (`tools/clientcmd/client_config.go`, `parseProxyURL`), and `socks5h`: the proxy resolves names anyway. */
const protocols = ["http:", "https:", "socks5:", "socks5h:"];

/**
 * Reads the URL of a proxy.
 *
 * @param source - source of the URL for the error: `kubeconfig /etc/k: cluster "c" has proxy-url`
 * @throws InvalidInputError, which holds no password
 */
export function parseProxyUrl(text: string, source: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && protocols.includes(url.protocol) && url.hostname !== "" && isDecodable(url.username + url.password)) return url;
  throw new InvalidInputError(
    `${source} "${withoutPassword(text)}", expected a URL such as http://proxy:3128, https://user:password@proxy or socks5://proxy:1080`,
  );
}

/** Returns a proxy's URL without its password. */
export function shownProxy(url: URL): string {
  return `${url.protocol}//${url.host}`;
}

/** Whether each `%` encodes a byte, as required in a percent-encoded user or password. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function withoutPassword(text: string): string {
  return text.replace(/^(.*:\/\/)?.*@/, "$1…@");
}
