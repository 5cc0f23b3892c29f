export { StatusModule } from './status.module';
export { StatusOut } from './status.dto';
export { StatusService } from './status.service';
