import { CloudWatchLogsClient } from "@aws-sdk/client-cloudwatch-logs";
import { ECSClient } from "@aws-sdk/client-ecs";
import type { FargateConfig } from "../config/schema.ts";

/** Clients of the AWS SDK; disposing closes their connections. */
export interface SdkClients extends Disposable {
  readonly ecs: ECSClient;
  readonly logs: CloudWatchLogsClient;
}

/**
 * Opens the clients. Credentials come from the SDK's default provider chain, which renews them by itself. The SDK repeats nothing, because
 * repeated requests count against the same budget as all others.
 */
export function openClients({
  region,
  ecsEndpoint,
  logsEndpoint,
}: Pick<FargateConfig, "region" | "ecsEndpoint" | "logsEndpoint">): SdkClients {
  // The chain is given this, too; otherwise the SDK reads the files of ~/.aws once for the whole process.
  const common = { region, maxAttempts: 1, ignoreCache: true };
  const ecs = new ECSClient({ ...common, ...(ecsEndpoint !== undefined && { endpoint: ecsEndpoint }) });
  const logs = new CloudWatchLogsClient({ ...common, ...(logsEndpoint !== undefined && { endpoint: logsEndpoint }) });
  return {
    ecs,
    logs,
    [Symbol.dispose]() {
      ecs.destroy();
      logs.destroy();
    },
  };
}
