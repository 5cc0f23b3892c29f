export { StatusModule } from './status.module';
export { ProviderBalanceOut, StatusOut } from './status.dto';
export { StatusService } from './status.service';
