import type { ContainerGroupBody } from "./container-group.ts";

/** Returns all secret texts in a group's body, which no log and no message may show. */
export function secretsOf({ properties }: ContainerGroupBody): readonly string[] {
  const containers = [...properties.containers, ...(properties.initContainers ?? [])];
  const texts: readonly (string | undefined)[] = [
    ...containers.flatMap((container) => (container.properties.environmentVariables ?? []).map(({ secureValue }) => secureValue)),
    ...(properties.imageRegistryCredentials ?? []).map(({ password }) => password),
    ...(properties.volumes ?? []).flatMap(({ azureFile, secret = {} }) => [azureFile?.storageAccountKey, ...Object.values(secret)]),
    ...(properties.extensions ?? []).flatMap((extension) => Object.values(extension.properties.protectedSettings)),
    properties.diagnostics?.logAnalytics.workspaceKey,
  ];
  return texts.flatMap((text) => text || []);
}
