import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { imageRepository } from "@virtual-kubelet/core";

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
    throw new InvalidInputError(`read image name ${JSON.stringify(image)}: invalid reference format, expected such as nginx:1.29`);
  return { registry, repository, pullName: tag === undefined && digest === undefined ? `${image}:latest` : image };
}

/** Takes tag and digest off; a colon before the last slash is a port's. */
function splitVersion(image: string): { readonly name: string; readonly tag: string | undefined; readonly digest: string | undefined } {
  const at = image.indexOf("@");
  const digest = at < 0 ? undefined : image.slice(at + 1);
  const rest = at < 0 ? image : image.slice(0, at);
  const colon = rest.indexOf(":", rest.lastIndexOf("/") + 1);
  if (colon < 0) return { name: rest, tag: undefined, digest };
  return { name: rest.slice(0, colon), tag: rest.slice(colon + 1), digest };
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
