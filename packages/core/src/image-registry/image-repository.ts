/**
 * An image's repository with its registry, without tag and digest: `docker.io/library/busybox` for `busybox:1.37`.
 * Source: ParseNormalizedNamed in github.com/distribution/reference, as a kubelet uses it.
 */
export function imageRepository(image: string): string {
  const [named = ""] = image.split("@", 1);
  const lastSlash = named.lastIndexOf("/");
  const colon = named.indexOf(":", lastSlash + 1);
  const name = colon < 0 ? named : named.slice(0, colon);
  const [first = "", ...rest] = name.split("/");
  const isRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase());
  if (!isRegistry) return rest.length > 0 ? `docker.io/${name}` : `docker.io/library/${name}`;
  if (first !== "docker.io" && first !== "index.docker.io") return name;
  return rest.length > 1 ? `docker.io/${rest.join("/")}` : `docker.io/library/${rest.join("/")}`;
}
