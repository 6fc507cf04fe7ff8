import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { imageRepository } from "@virtual-kubelet/core";

/** Parts of an image's name. */
export interface ImageReference {
  /** Full registry and path: `docker.io/library/busybox`. */
  readonly repository: string;
  readonly registry: string;
  /** Name for the engine's pull, with a tag (default `latest`) or a digest. Without either the engine would pull all tags. */
  readonly pullName: string;
}

const component = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const registryPattern =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])(?::\d+)?$/;
const tagPattern = /^\w[\w.-]{0,127}$/;
const digestPattern = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;

/**
 * Parses an image's name.
 *
 * Source: the grammar of distribution/reference v0.6.
 *
 * @throws InvalidInputError for a malformed name
 */
export function parseImageReference(image: string): ImageReference {
  const { name, tag, digest } = splitVersion(image);
  const repository = imageRepository(image);
  const [registry = "", ...path] = repository.split("/");
  const isValid =
    name.length <= 255 &&
    registryPattern.test(registry) &&
    path.every((part) => component.test(part)) &&
    tagPattern.test(tag ?? "latest") &&
    (digest === undefined || digestPattern.test(digest));
  if (!isValid)
    throw new InvalidInputError(`read image name ${JSON.stringify(image)}: invalid reference format, expected a name such as nginx:1.29`);
  return { registry, repository, pullName: tag === undefined && digest === undefined ? `${image}:latest` : image };
}

/** Separates tag and digest. A colon before the last slash belongs to a port. */
function splitVersion(image: string): { readonly name: string; readonly tag: string | undefined; readonly digest: string | undefined } {
  const at = image.indexOf("@");
  const digest = at < 0 ? undefined : image.slice(at + 1);
  const rest = at < 0 ? image : image.slice(0, at);
  const colon = rest.indexOf(":", rest.lastIndexOf("/") + 1);
  if (colon < 0) return { name: rest, tag: undefined, digest };
  return { name: rest.slice(0, colon), tag: rest.slice(colon + 1), digest };
}

/** An image by content: its digest in the requested repository, else its id. */
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
