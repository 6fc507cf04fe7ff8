import { credentialsFor, imageRepository, type DeepReadonly, type Pod, type RegistryEntry } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { NomadTemplate } from "../api/types.ts";
import { escapeInterpolation } from "./task-environment.ts";
import type { ItemStore } from "./variable-items.ts";

/** Name and password for the registry of a container's image. It is a secret. */
export interface PullCredentials {
  readonly username: string;
  readonly password: string;
}

/**
 * The credentials for each container's image, by the container's name: of all that a kubelet would try, the first that Nomad's docker
 * driver takes.
 *
 * @throws UnsupportedError where an image has tokens only
 */
export function pullCredentialsOf(pod: DeepReadonly<Pod>, entries: readonly RegistryEntry[]): ReadonlyMap<string, PullCredentials> {
  const found = new Map<string, PullCredentials>();
  for (const { name, image = "" } of [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])]) {
    const all = credentialsFor(image, entries);
    const usable = all.find((each) => "username" in each);
    if (usable) found.set(name, usable);
    else if (all.length > 0) {
      const fieldPath = "spec.imagePullSecrets";
      throw new UnsupportedError(
        `${fieldPath}: for image ${image} they contain only tokens, and Nomad's docker driver needs a user and a password; use a secret with both`,
        { fieldPath },
      );
    }
  }
  return found;
}

/** Variables of the environment by which the driver's configuration reads the credentials, for Nomad has no other way. */
const variables = { username: "VK_REGISTRY_USERNAME", password: "VK_REGISTRY_PASSWORD" } as const;

/** A task's login to a registry. */
export interface TaskLogin {
  readonly template: NomadTemplate;
  /** `auth` of the docker driver's configuration. It shows no credential. */
  readonly auth: Readonly<Record<string, string>>;
}

/**
 * How a task's driver comes by the credentials for its image.
 *
 * @param path - of the variable that holds them
 */
export function taskLogin(
  { name, image = "" }: { readonly name: string; readonly image?: string | undefined },
  { username, password }: PullCredentials,
  { store, path }: { readonly store: ItemStore; readonly path: string },
): TaskLogin {
  const line = (variable: string, value: string): string => `${variable}=${store.text(path, `registry/${name}/${variable}`, value)}\n`;
  const [registry = ""] = imageRepository(image).split("/", 1);
  return {
    template: {
      EmbeddedTmpl: line(variables.username, username) + line(variables.password, password),
      DestPath: "secrets/vk-registry.env",
      ChangeMode: "noop",
      Perms: "0400",
      Envvars: true,
    },
    auth: {
      username: `\${env["${variables.username}"]}`,
      password: `\${env["${variables.password}"]}`,
      server_address: registry === "docker.io" ? "https://index.docker.io/v1/" : escapeInterpolation(registry),
    },
  };
}
