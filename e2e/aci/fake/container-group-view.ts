import { createHash } from "node:crypto";
import { toEvents } from "./container-events.ts";
import type { ContainerBody, VolumeBody } from "./container-group-body.ts";
import type { FakeContainer } from "./fake-container.ts";
import type { FakeContainerGroup } from "./fake-container-group.ts";

/** Options of {@link viewOf}. */
export interface ViewOptions {
  readonly subscription: string;
  /** Whether the view has instance views. Lists have none. */
  readonly hasInstanceView: boolean;
}

/** Container group as the API writes it, without the values of secrets. */
export function viewOf(group: FakeContainerGroup, { subscription, hasInstanceView }: ViewOptions): Readonly<Record<string, unknown>> {
  const { body, name, resourceGroup } = group;
  const {
    containers: _containers,
    initContainers: _initContainers,
    volumes,
    ipAddress,
    imageRegistryCredentials,
    diagnostics,
    extensions,
    ...rest
  } = body.properties;
  const container = (each: FakeContainer): object => containerView(each, hasInstanceView);
  // A group in a subnet gets a private address without asking.
  const address = ipAddress ?? (isInSubnet(group) ? { type: "Private", ports: portsOf(group) } : undefined);
  return {
    id: `/subscriptions/${subscription}/resourceGroups/${resourceGroup}/providers/Microsoft.ContainerInstance/containerGroups/${name}`,
    name,
    type: "Microsoft.ContainerInstance/containerGroups",
    location: body.location,
    tags: group.tags,
    ...(body.zones && { zones: body.zones }),
    ...(body.identity && { identity: identityView(body.identity) }),
    properties: {
      sku: "Standard",
      restartPolicy: "Always",
      ...rest,
      provisioningState: group.provisioningState,
      isCreatedFromStandbyPool: false,
      containers: group.containers.map(container),
      initContainers: group.initContainers.map(container),
      ...(volumes && { volumes: volumes.map(volumeView) }),
      ...(address && { ipAddress: { ...address, ...(group.address !== undefined && { ip: group.address }), ...domainName(group) } }),
      ...(imageRegistryCredentials && { imageRegistryCredentials: imageRegistryCredentials.map(({ password: _, ...each }) => each) }),
      ...(diagnostics?.logAnalytics && { diagnostics: { logAnalytics: without(diagnostics.logAnalytics, ["workspaceKey"]) } }),
      ...(extensions && {
        extensions: extensions.map(({ name: extension, properties = {} }) => ({
          name: extension,
          properties: without(properties, ["protectedSettings"]),
        })),
      }),
      ...(hasInstanceView && { instanceView: { events: toEvents(group.occurrences), state: group.state } }),
    },
  };
}

function containerView(container: FakeContainer, hasInstanceView: boolean): object {
  const { name, properties }: ContainerBody = container.body;
  const { environmentVariables = [], ports = [], ...rest } = properties;
  return {
    name,
    properties: {
      ...rest,
      ports,
      // Values of secure variables are never returned.
      environmentVariables: environmentVariables.map(({ secureValue: _, ...each }) => each),
      ...(hasInstanceView && { instanceView: container.view() }),
    },
  };
}

function volumeView({ secret, azureFile, ...rest }: VolumeBody): object {
  return {
    ...rest,
    ...(secret && { secret: {} }),
    ...(azureFile && { azureFile: without(azureFile, ["storageAccountKey"]) }),
  };
}

function portsOf({ body }: FakeContainerGroup): readonly object[] {
  return body.properties.containers.flatMap(({ properties }) => properties.ports ?? []);
}

function isInSubnet({ body }: FakeContainerGroup): boolean {
  return (body.properties.subnetIds ?? []).length > 0;
}

function domainName({ body, name }: FakeContainerGroup): object {
  const label = body.properties.ipAddress?.dnsNameLabel;
  if (label === undefined) return {};
  const unique = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return { fqdn: `${label}-${unique}.${body.location}.azurecontainer.io` };
}

function identityView(identity: object): object {
  const isSystem = "type" in identity && String(identity.type).includes("SystemAssigned");
  return isSystem
    ? { ...identity, principalId: "00000000-0000-0000-0000-0000000000aa", tenantId: "00000000-0000-0000-0000-0000000000bb" }
    : identity;
}

function without(value: object, fields: readonly string[]): object {
  return Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field)));
}
