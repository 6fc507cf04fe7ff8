import { describeCloud } from "./support/describe-cloud.ts";
import { openAci } from "./support/fake-aci.ts";

describeCloud("aci", openAci);
