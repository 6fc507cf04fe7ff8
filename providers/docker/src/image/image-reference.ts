import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** An image's name in its parts. */
export interface ImageReference {
  /** Registry and path in full: `docker.io/library/busybox`. */
  readonly repository: string;
  readonly registry: string;
  /** What the engine pulls: with a tag or a digest, `latest` by default. Without either it would pull all tags there are. */
  readonly pullName: string;
}

const component = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const registryPattern =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])(?::\d+)?$/;
const tagPattern = /^\w[\w.-]{0,127}$/;
const digestPattern = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;

/**
 * Reads an image's name.
 *
 * Source: the grammar of distribution/reference v0.6.
 *
 * @throws InvalidInputError for what is none
 */
export function parseImageReference(image: string): ImageReference {
  const [beforeDigest = "", digest, ...more] = image.split("@");
  const colon = beforeDigest.lastIndexOf(":");
  const hasTag = colon > beforeDigest.lastIndexOf("/");
  const name = hasTag ? beforeDigest.slice(0, colon) : beforeDigest;
  const tag = hasTag ? beforeDigest.slice(colon + 1) : undefined;
  const parts = name.split("/");
  const [first = ""] = parts;
  const hasRegistry = parts.length > 1 && (/[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase());
  const registry = hasRegistry ? first : "docker.io";
  const path = hasRegistry ? parts.slice(1) : parts;
  const isValid =
    path.every((part) => component.test(part)) &&
    (!hasRegistry || registryPattern.test(registry)) &&
    (tag === undefined || tagPattern.test(tag)) &&
    (digest === undefined || digestPattern.test(digest)) &&
    more.length === 0 &&
    name.length <= 255;
  if (!isValid)
    throw new InvalidInputError(`read image name ${JSON.stringify(image)}: invalid reference format, expected such as nginx:1.29`);
  const isShort = registry === "docker.io" && path.length === 1;
  return {
    registry,
    repository: [registry, ...(isShort ? ["library"] : []), ...path].join("/"),
    pullName: tag === undefined && digest === undefined ? `${image}:latest` : image,
  };
}

/** An image by content: of its digests that of the repository it was asked for by, else its id. */
export function contentId(image: string, { id, digests }: { readonly id: string; readonly digests: readonly string[] }): string {
  if (/^sha256:[0-9a-f]{64}$/.test(image)) return image;
  const { repository } = parseImageReference(image);
  return digests.find((digest) => tryRepository(digest) === repository) ?? digests[0] ?? id;
}

function tryRepository(digest: string): string | undefined {
  try {
    return parseImageReference(digest).repository;
  } catch {
    return undefined;
  }
}
