import { imageRepository } from "./image-repository.ts";

/** Names that stand for the registry of images whose name has none. */
const dockerHub: readonly string[] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/**
 * Which images a credential is for, in the form keys are compared and sorted in: no scheme, no `/v1/` or `/v2/` before the
 * path, and one name for Docker's own registry.
 * Source: BasicDockerKeyring.Add in kubernetes v1.36.3 pkg/credentialprovider/keyring.go.
 *
 * @param location - a key of `auths`, such as `https://index.docker.io/v1/`, `*.example.com:5000` or `quay.io/coreos`
 */
export function registryKey(location: string): string {
  const plain = location.replace(/^https?:\/\//, "");
  const slash = plain.indexOf("/");
  const host = slash < 0 ? plain : plain.slice(0, slash);
  const path = (slash < 0 ? "" : plain.slice(slash)).replace(/^\/v[12]\//, "/").replace(/^\/v[12]$/, "/");
  const name = dockerHub.includes(host) ? "docker.io" : host;
  return path === "/" ? name : name + path;
}

/**
 * Whether a credential under that key is for an image: the port is the same, each part of the host name matches, `*` and `?`
 * standing for any letters of one part, and the key's path is the beginning of the repository's.
 * Source: URLsMatch in kubernetes v1.36.3 pkg/credentialprovider/keyring.go.
 */
export function matchesImage(key: string, image: string): boolean {
  const wanted = splitKey(key);
  const asked = splitKey(imageRepository(image));
  return (
    wanted.port === asked.port &&
    wanted.parts.length === asked.parts.length &&
    asked.path.startsWith(wanted.path) &&
    wanted.parts.every((glob, index) => matchesGlob(glob, asked.parts[index] ?? ""))
  );
}

/** Keys as a kubelet tries them: what is more to the point comes first. */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? 1 : -1;
}

function splitKey(key: string): { parts: readonly string[]; port: string; path: string } {
  const slash = key.indexOf("/");
  const authority = slash < 0 ? key : key.slice(0, slash);
  const [, host = authority, port = ""] = /^(.*):(\d+)$/.exec(authority) ?? [];
  return { parts: host.split("."), port, path: slash < 0 ? "" : key.slice(slash) };
}

/** In time that grows with the product of both lengths, whatever a hostile pattern holds. */
function matchesGlob(glob: string, text: string): boolean {
  let at = 0;
  let star = -1;
  let afterStar = 0;
  let position = 0;
  while (position < text.length) {
    if (glob[at] === "*") {
      star = at++;
      afterStar = position;
    } else if (glob[at] === "?" || glob[at] === text[position]) {
      at++;
      position++;
    } else if (star >= 0) {
      at = star + 1;
      position = ++afterStar;
    } else return false;
  }
  while (glob[at] === "*") at++;
  return at === glob.length;
}
