import { describeHost } from "./describe-host.ts";
import { ProcessHost } from "./process-host.ts";

describeHost(async () => new ProcessHost(), {
  image: "ignored",
  mountPath: `/tmp/suite-host-${process.pid}`,
  separatesStreams: false,
});
