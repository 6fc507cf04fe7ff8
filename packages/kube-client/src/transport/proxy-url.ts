import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** What client-go takes: `tools/clientcmd/client_config.go`, `parseProxyURL`; and `socks5h`, which is the same here: the proxy resolves names. */
const protocols = ["http:", "https:", "socks5:", "socks5h:"];

/**
 * Reads the URL of a proxy.
 *
 * @param source - what names it, for the error: `kubeconfig /etc/k: cluster "c" has proxy-url`
 * @throws InvalidInputError, which holds no password
 */
export function parseProxyUrl(text: string, source: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && protocols.includes(url.protocol) && url.hostname !== "" && isDecodable(url.username + url.password)) return url;
  throw new InvalidInputError(
    `${source} "${withoutPassword(text)}", expected a URL such as http://proxy:3128, https://user:password@proxy or socks5://proxy:1080`,
  );
}

/** A proxy's URL as it may be shown to anybody. */
export function shownProxy(url: URL): string {
  return `${url.protocol}//${url.host}`;
}

/** Whether each `%` stands for a byte, as it must where a user or password is percent-encoded. */
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
