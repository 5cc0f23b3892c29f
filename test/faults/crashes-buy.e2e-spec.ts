import { describeCrashes } from '../support/crash-matrix';

describeCrashes('buy');
