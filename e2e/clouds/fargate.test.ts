import { describeCloud } from "./support/describe-cloud.ts";
import { openFargate } from "./support/fake-fargate.ts";

describeCloud("fargate", openFargate);
