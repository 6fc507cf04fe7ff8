import type { ContainerGroupBody } from "./container-group.ts";

/** Returns all secret texts in a group's body, which no log and no message may show. */
export function secretsOf({ properties }: ContainerGroupBody): readonly string[] {
  const containers = [...properties.containers, ...(properties.initContainers ?? [])];
  const texts: readonly (string | undefined)[] = [
    ...containers.flatMap((container) => (container.properties.environmentVariables ?? []).map(({ secureValue }) => secureValue)),
    ...(properties.imageRegistryCredentials ?? []).map(({ password }) => password),
    ...(properties.volumes ?? []).flatMap(({ azureFile, secret = {} }) => [
      azureFile?.storageAccountKey,
      // Files are base64 in the request, and text to those who read a message.
      ...Object.values(secret).flatMap((content) => [content, Buffer.from(content, "base64").toString("utf8").trim()]),
    ]),
    ...(properties.extensions ?? []).flatMap((extension) => Object.values(extension.properties.protectedSettings)),
    properties.diagnostics?.logAnalytics.workspaceKey,
  ];
  return texts.flatMap((text) => text || []);
}
