import { Module } from '@nestjs/common';
import { CatalogModule } from '../catalog';
import { UsageController } from './usage.controller';
import { UsageService } from './usage.service';

@Module({ imports: [CatalogModule], controllers: [UsageController], providers: [UsageService] })
export class UsageModule {}
