import { credentialsFor, imageRepository, type DeepReadonly, type Pod, type RegistryEntry } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { RegistryCredential } from "../azure/container-group.ts";
import { annotationPath, annotations, listOf } from "./annotations.ts";
import type { PlacedContainer } from "./fields.ts";
import type { Note } from "./note.ts";

/** User name with which Azure's registries take an identity token as the password. Source: `az acr login --expose-token`. */
const tokenUser = "00000000-0000-0000-0000-000000000000";

/** Name under which Azure Container Instances knows Docker Hub. */
const dockerHub = "index.docker.io";

/**
 * Returns one credential for each registry of the pod's images: a managed identity, if one is configured for it, otherwise the best entry of the
 * pull secrets, chosen as a kubelet does.
 *
 * @throws InvalidInputError for a malformed annotation
 */
export function registriesOf(
  pod: DeepReadonly<Pod>,
  containers: readonly PlacedContainer[],
  { entries, identities }: { readonly entries: readonly RegistryEntry[]; readonly identities: Readonly<Record<string, string>> },
): { readonly credentials: readonly RegistryCredential[]; readonly notes: readonly Note[] } {
  const byServer = new Map([...Object.entries(identities), ...annotated(pod)]);
  const credentials = new Map<string, RegistryCredential>();
  const notes: Note[] = [];
  for (const { container } of containers) {
    const image = container.image ?? "";
    const [host = ""] = imageRepository(image).split("/", 1);
    const server = host === "docker.io" ? dockerHub : host;
    if (credentials.has(server)) continue;
    const identity = byServer.get(server) ?? byServer.get(host);
    if (identity !== undefined) {
      credentials.set(server, { server, identity });
      continue;
    }
    const [best] = credentialsFor(image, entries);
    if (best === undefined) continue;
    if ("registryToken" in best) {
      const message = `The pull secret of registry ${server} has a registry token, which Azure Container Instances does not accept.`;
      notes.push({ reason: "PullSecretIgnored", type: "Warning", message });
    } else {
      const [username, password] = "identityToken" in best ? [tokenUser, best.identityToken] : [best.username, best.password];
      credentials.set(server, { server, username, password });
    }
  }
  return { credentials: [...credentials.values()], notes };
}

function annotated(pod: DeepReadonly<Pod>): readonly (readonly [string, string])[] {
  return listOf(pod, annotations.registryIdentities).map((entry) => {
    const [, server, identity] = /^([^=/]+)=(\/.+)$/.exec(entry) ?? [];
    if (server !== undefined && identity !== undefined) return [server, identity] as const;
    throw new InvalidInputError(
      `${annotationPath(annotations.registryIdentities)}: expected SERVER=IDENTITY with the resource id of an identity`,
    );
  });
}
