import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import { canOpenTerminals } from "../../zun/fake/container-process.ts";
import { ProcessHost } from "../../support/container-host/process-host.ts";
import { FakeAws, firstKeys } from "../fake/fake-aws.ts";
import { shortTimings } from "../fake/tasks/task-timings.ts";
import { VolumeHost } from "./volume-host.ts";

/** Why commands cannot run, if so. */
export function missingTerminals(): string | undefined {
  return canOpenTerminals() ? undefined : "python3 is not here, which gives the fake's commands their terminals";
}

/** Starts an account whose containers are processes, in real time. The keys are put where the SDK's default chain finds them. */
export async function startAccount(): Promise<FakeAws> {
  process.env["AWS_ACCESS_KEY_ID"] = firstKeys.accessKeyId;
  process.env["AWS_SECRET_ACCESS_KEY"] = firstKeys.secretAccessKey;
  delete process.env["AWS_SESSION_TOKEN"];
  const aws = await FakeAws.start({
    clock: systemClock,
    random: systemRandom,
    host: new VolumeHost(new ProcessHost()),
    // Fargate gives a container the grace of its pod's specification, 30 s in the suite, whatever a deletion says.
    timings: { ...shortTimings, stopSecondMs: 100 },
    ingestionMs: 100,
  });
  aws.tasks.settings.visibleAfterMs = 200;
  return aws;
}
